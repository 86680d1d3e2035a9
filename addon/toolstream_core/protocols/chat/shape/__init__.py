"""protocols/chat/shape"""
