import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.core.http.StreamResponse;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionMessage;
import com.openai.models.chat.completions.ChatCompletionMessageFunctionToolCall;
import com.openai.models.chat.completions.ChatCompletionMessageToolCall;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import java.util.List;

/** openai-java, Chat Completions, with its accumulator. */
final class OpenAiChat {
  private OpenAiChat() {}

  public static void main(String[] arguments) {
    TwoTools.end(() -> run(TwoTools.prompt(arguments)));
  }

  private static void run(String question) {
    ChatCompletionCreateParams.Builder request = ChatCompletionCreateParams.builder()
        .model(TwoTools.MODEL)
        .addUserMessage(question);
    for (TwoTools.Tool one : TwoTools.TOOLS) {
      request.addFunctionTool(FunctionDefinition.builder()
          .name(one.name())
          .description(one.description())
          .parameters(JsonValue.fromJsonNode(one.schema()).convert(FunctionParameters.class))
          .build());
    }
    OpenAIClient client = OpenAIOkHttpClient.fromEnv();
    for (int turn = 0; turn < TwoTools.TURNS && answered(client, request); turn++) {}
  }

  /** Sends a request and runs the calls. Returns whether there were any. */
  private static boolean answered(OpenAIClient client, ChatCompletionCreateParams.Builder request) {
    ChatCompletionAccumulator all = ChatCompletionAccumulator.create();
    try (StreamResponse<ChatCompletionChunk> chunks = client.chat().completions().createStreaming(request.build())) {
      chunks.stream().forEach(all::accumulate);
    }
    ChatCompletionMessage message = all.chatCompletion().choices().get(0).message();
    List<ChatCompletionMessageToolCall> calls = message.toolCalls().orElse(List.of());
    request.addMessage(message);
    for (ChatCompletionMessageToolCall one : calls) {
      ChatCompletionMessageFunctionToolCall call = one.asFunction();
      request.addMessage(ChatCompletionToolMessageParam.builder()
          .toolCallId(call.id())
          .content(TwoTools.run(call.function().name(), call.function().arguments()))
          .build());
    }
    return !calls.isEmpty();
  }
}
