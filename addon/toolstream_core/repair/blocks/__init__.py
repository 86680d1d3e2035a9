"""Repair of protocols that stream content blocks: Anthropic Messages, Cohere v2 and Bedrock ConverseStream."""
