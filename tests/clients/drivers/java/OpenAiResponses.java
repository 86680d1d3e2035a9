import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.core.http.StreamResponse;
import com.openai.helpers.ResponseAccumulator;
import com.openai.models.responses.EasyInputMessage;
import com.openai.models.responses.FunctionTool;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseFunctionToolCall;
import com.openai.models.responses.ResponseInputItem;
import com.openai.models.responses.ResponseStreamEvent;
import java.util.ArrayList;
import java.util.List;

/** openai-java, Responses, with its accumulator. */
final class OpenAiResponses {
  private OpenAiResponses() {}

  public static void main(String[] arguments) {
    TwoTools.end(() -> run(TwoTools.prompt(arguments)));
  }

  private static void run(String question) {
    ResponseCreateParams.Builder request = ResponseCreateParams.builder().model(TwoTools.MODEL).store(false);
    for (TwoTools.Tool one : TwoTools.TOOLS) {
      request.addTool(FunctionTool.builder()
          .name(one.name())
          .description(one.description())
          .parameters(JsonValue.fromJsonNode(one.schema()).convert(FunctionTool.Parameters.class))
          .strict(true)
          .build());
    }
    List<ResponseInputItem> items = new ArrayList<>();
    items.add(ResponseInputItem.ofEasyInputMessage(EasyInputMessage.builder()
        .role(EasyInputMessage.Role.USER)
        .content(question)
        .build()));
    OpenAIClient client = OpenAIOkHttpClient.fromEnv();
    for (int turn = 0; turn < TwoTools.TURNS && answered(client, request, items); turn++) {}
  }

  /** Sends a request and runs the calls. Returns whether there were any. */
  private static boolean answered(
      OpenAIClient client, ResponseCreateParams.Builder request, List<ResponseInputItem> items) {
    ResponseAccumulator all = ResponseAccumulator.create();
    ResponseCreateParams asked = request.inputOfResponse(items).build();
    try (StreamResponse<ResponseStreamEvent> events = client.responses().createStreaming(asked)) {
      events.stream().forEach(all::accumulate);
    }
    List<ResponseFunctionToolCall> calls =
        all.response().output().stream().flatMap((item) -> item.functionCall().stream()).toList();
    for (ResponseFunctionToolCall call : calls) {
      items.add(ResponseInputItem.ofFunctionCall(call));
    }
    for (ResponseFunctionToolCall call : calls) {
      items.add(ResponseInputItem.ofFunctionCallOutput(ResponseInputItem.FunctionCallOutput.builder()
          .callId(call.callId())
          .output(TwoTools.run(call.name(), call.arguments()))
          .build()));
    }
    return !calls.isEmpty();
  }
}
