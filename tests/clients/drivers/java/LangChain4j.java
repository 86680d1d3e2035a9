import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** LangChain4j, with its streaming model of Chat Completions. */
final class LangChain4j {
  private static final List<ToolSpecification> TOOLS = List.of(
      ToolSpecification.builder()
          .name("get_weather")
          .description("Get the weather of a city.")
          .parameters(JsonObjectSchema.builder()
              .addStringProperty("city")
              .addEnumProperty("unit", List.of("celsius", "fahrenheit"))
              .required("city", "unit")
              .additionalProperties(false)
              .build())
          .build(),
      ToolSpecification.builder()
          .name("read_file")
          .description("Read a text file.")
          .parameters(JsonObjectSchema.builder()
              .addStringProperty("path")
              .required("path")
              .additionalProperties(false)
              .build())
          .build());

  private LangChain4j() {}

  public static void main(String[] arguments) {
    TwoTools.end(() -> run(TwoTools.prompt(arguments)));
  }

  private static void run(String question) {
    OpenAiStreamingChatModel model = OpenAiStreamingChatModel.builder()
        .baseUrl(System.getenv("OPENAI_BASE_URL"))
        .apiKey(System.getenv("OPENAI_API_KEY"))
        .modelName(TwoTools.MODEL)
        .build();
    List<ChatMessage> messages = new ArrayList<>();
    messages.add(UserMessage.from(question));
    for (int turn = 0; turn < TwoTools.TURNS; turn++) {
      AiMessage answer = ask(model, messages);
      if (!answer.hasToolExecutionRequests()) {
        break;
      }
      messages.add(answer);
      for (ToolExecutionRequest call : answer.toolExecutionRequests()) {
        messages.add(ToolExecutionResultMessage.from(call, TwoTools.run(call.name(), call.arguments())));
      }
    }
  }

  private static AiMessage ask(OpenAiStreamingChatModel model, List<ChatMessage> messages) {
    CompletableFuture<AiMessage> answer = new CompletableFuture<>();
    ChatRequest request = ChatRequest.builder().messages(messages).toolSpecifications(TOOLS).build();
    model.chat(request, new StreamingChatResponseHandler() {
      @Override
      public void onCompleteResponse(ChatResponse response) {
        answer.complete(response.aiMessage());
      }

      @Override
      public void onError(Throwable error) {
        answer.completeExceptionally(error);
      }
    });
    return answer.join();
  }
}
