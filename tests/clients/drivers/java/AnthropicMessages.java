import com.anthropic.client.AnthropicClient;
import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.anthropic.core.JsonValue;
import com.anthropic.core.http.StreamResponse;
import com.anthropic.helpers.MessageAccumulator;
import com.anthropic.models.messages.ContentBlockParam;
import com.anthropic.models.messages.Message;
import com.anthropic.models.messages.MessageCreateParams;
import com.anthropic.models.messages.RawMessageStreamEvent;
import com.anthropic.models.messages.Tool;
import com.anthropic.models.messages.ToolResultBlockParam;
import com.anthropic.models.messages.ToolUseBlock;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.stream.StreamSupport;

/** anthropic-java, Messages, with its accumulator. */
final class AnthropicMessages {
  private static final int MOST_TOKENS = 1024;

  private AnthropicMessages() {}

  public static void main(String[] arguments) {
    TwoTools.end(() -> run(TwoTools.prompt(arguments)));
  }

  private static void run(String question) {
    MessageCreateParams.Builder request = MessageCreateParams.builder()
        .model(TwoTools.MODEL)
        .maxTokens(MOST_TOKENS)
        .addUserMessage(question);
    TwoTools.TOOLS.forEach(one -> request.addTool(offered(one)));
    AnthropicClient client = AnthropicOkHttpClient.fromEnv();
    for (int turn = 0; turn < TwoTools.TURNS && answered(client, request); turn++) {}
  }

  private static Tool offered(TwoTools.Tool one) {
    JsonNode properties = one.schema().get("properties");
    List<String> required = StreamSupport.stream(one.schema().get("required").spliterator(), false)
        .map(JsonNode::textValue)
        .toList();
    return Tool.builder()
        .name(one.name())
        .description(one.description())
        .inputSchema(Tool.InputSchema.builder()
            .properties(JsonValue.fromJsonNode(properties).convert(Tool.InputSchema.Properties.class))
            .required(required)
            .build())
        .build();
  }

  /** Sends a request and runs the calls. Returns whether there were any. */
  private static boolean answered(AnthropicClient client, MessageCreateParams.Builder request) {
    MessageAccumulator all = MessageAccumulator.create();
    try (StreamResponse<RawMessageStreamEvent> events = client.messages().createStreaming(request.build())) {
      events.stream().forEach(all::accumulate);
    }
    Message message = all.message();
    List<ContentBlockParam> results = message.content().stream()
        .flatMap(block -> block.toolUse().stream())
        .map(AnthropicMessages::result)
        .toList();
    request.addMessage(message);
    if (!results.isEmpty()) {
      request.addUserMessageOfContentBlockParams(results);
    }
    return !results.isEmpty();
  }

  private static ContentBlockParam result(ToolUseBlock call) {
    String arguments = call._input().convert(JsonNode.class).toString();
    return ContentBlockParam.ofToolResult(ToolResultBlockParam.builder()
        .toolUseId(call.id())
        .content(TwoTools.run(call.name(), arguments))
        .build());
  }
}
