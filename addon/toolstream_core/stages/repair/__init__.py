"""stages/repair"""
