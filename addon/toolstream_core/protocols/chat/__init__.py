"""protocols/chat"""
