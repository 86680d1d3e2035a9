"""protocols/ollama"""
