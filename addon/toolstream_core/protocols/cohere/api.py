"""The Cohere v2 chat API: messages, tools and repeated calls have the form of Chat Completions."""

import re

from toolstream_core.protocols.api import Api, ModelList, Specification


class CohereApi(Api):
    """https://docs.cohere.com/reference/chat-stream."""

    specification = Specification(
        title="Cohere, streaming chat (v2)",
        url="https://docs.cohere.com/v2/docs/streaming",
    )
    request_paths = re.compile(r"/v2/chat/?$")
    server = "https://api.cohere.com"
    hosts = ("api.cohere.com", "api.cohere.ai")
    prefix = "/v2"
    base_has_prefix = False
    endpoint = "/chat"
    key_variables = ("CO_API_KEY", "COHERE_API_KEY")
    base_url_variables = (
        "CO_API_URL",  # cohere-python
        "COHERE_API_BASE",  # litellm
    )
    model_list = ModelList.NAMES
    own_keys = ("strict_tools", "citation_options", "safety_mode")
