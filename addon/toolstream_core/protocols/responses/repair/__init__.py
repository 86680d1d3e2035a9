"""protocols/responses/repair"""
