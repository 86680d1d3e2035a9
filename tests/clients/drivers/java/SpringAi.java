import java.util.List;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.model.ToolContext;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.model.tool.ToolCallingManager;
import org.springframework.ai.openai.OpenAiChatModel;
import org.springframework.ai.openai.OpenAiChatOptions;
import org.springframework.ai.tool.ToolCallback;
import org.springframework.ai.tool.function.FunctionToolCallback;

/** Spring AI's OpenAiChatModel, streaming, with its own tool calling manager. */
final class SpringAi {
  private static final List<ToolCallback> TOOLS = List.of(
      FunctionToolCallback.builder("get_weather", (Place given, ToolContext context) -> given.weather())
          .description("Get the weather of a city.")
          .inputType(Place.class)
          .build(),
      FunctionToolCallback.builder("read_file", (File given, ToolContext context) -> TwoTools.readFile(given.path()))
          .description("Read a text file.")
          .inputType(File.class)
          .build());

  /** The arguments of get_weather. */
  public record Place(String city, Unit unit) {
    String weather() {
      return TwoTools.getWeather(city, unit == null ? null : unit.name());
    }
  }

  /** The unit of a temperature. */
  public enum Unit { celsius, fahrenheit }

  /** The arguments of read_file. */
  public record File(String path) {}

  private SpringAi() {}

  public static void main(String[] arguments) {
    TwoTools.end(() -> run(TwoTools.prompt(arguments)));
  }

  private static void run(String question) {
    OpenAiChatOptions options = OpenAiChatOptions.builder()
        .baseUrl(System.getenv("OPENAI_BASE_URL"))
        .apiKey(System.getenv("OPENAI_API_KEY"))
        .model(TwoTools.MODEL)
        .toolCallbacks(TOOLS)
        .build();
    OpenAiChatModel model = OpenAiChatModel.builder().options(options).build();
    ToolCallingManager manager = ToolCallingManager.builder().build();
    Prompt prompt = new Prompt(question);
    for (int turn = 0; turn < TwoTools.TURNS; turn++) {
      ChatResponse calling = ask(model, prompt);
      if (calling == null) {
        break;
      }
      Prompt asked = prompt.mutate().chatOptions(options).build();
      prompt = new Prompt(manager.executeToolCalls(asked, calling).conversationHistory());
    }
  }

  /** The response with calls, or null. */
  private static ChatResponse ask(OpenAiChatModel model, Prompt prompt) {
    ChatResponse calling = null;
    for (ChatResponse part : model.stream(prompt).toIterable()) {
      calling = part.hasToolCalls() ? part : calling;
    }
    return calling;
  }
}
