"""stages/inject"""
