"""The record in each form in which it is reported."""
