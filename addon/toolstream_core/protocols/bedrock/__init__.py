"""Amazon Bedrock ConverseStream: everything that knows this wire."""
