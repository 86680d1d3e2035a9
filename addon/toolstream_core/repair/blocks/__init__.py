"""Repair of protocols that stream content blocks: Anthropic, Bedrock Converse, Cohere v2, Gemini Interactions."""
