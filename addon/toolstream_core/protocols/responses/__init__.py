"""protocols/responses"""
