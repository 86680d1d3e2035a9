"""protocols/chat/repair"""
