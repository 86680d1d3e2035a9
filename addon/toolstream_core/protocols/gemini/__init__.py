"""protocols/gemini"""
