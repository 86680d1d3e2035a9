"""protocols/anthropic/repair"""
