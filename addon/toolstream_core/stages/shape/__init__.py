"""stages/shape"""
