// Spring AI's OpenAiChatModel with one tool, streaming: prints the calls that it has, runs them and asks again.
import java.util.List;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.model.ToolContext;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.model.tool.ToolCallingManager;
import org.springframework.ai.openai.OpenAiChatModel;
import org.springframework.ai.openai.OpenAiChatOptions;
import org.springframework.ai.tool.function.FunctionToolCallback;

public class SpringAi {
  public record File(String path) {}

  public static void main(String[] arguments) {
    var tool =
        FunctionToolCallback.builder("read_file", (File file, ToolContext context) -> read(file))
            .description("Reads a file.")
            .inputType(File.class)
            .build();
    var options =
        OpenAiChatOptions.builder()
            .baseUrl(System.getenv("OPENAI_BASE_URL"))
            .apiKey(System.getenv("OPENAI_API_KEY"))
            .model("deepseek-chat")
            .maxRetries(0)
            .toolCallbacks(List.of(tool))
            .build();
    var model = OpenAiChatModel.builder().options(options).build();
    int code = 0;
    try {
      var tools = ToolCallingManager.builder().build();
      var prompt = new Prompt("How does README.md begin?");
      for (var calling = ask(model, prompt); calling != null; calling = ask(model, prompt)) {
        var executed = tools.executeToolCalls(prompt.mutate().chatOptions(options).build(), calling);
        prompt = new Prompt(executed.conversationHistory());
      }
    } catch (RuntimeException error) {
      System.out.println("the client gives up: " + error.getMessage());
      code = 1;
    }
    System.exit(code);
  }

  // The response with calls, if there is one.
  static ChatResponse ask(OpenAiChatModel model, Prompt prompt) {
    ChatResponse calling = null;
    var text = new StringBuilder();
    for (var part : model.stream(prompt).toIterable()) {
      var said = part.getResult() == null ? null : part.getResult().getOutput().getText();
      text.append(said == null ? "" : said);
      calling = part.hasToolCalls() ? part : calling;
    }
    if (calling == null) {
      System.out.println("the client says: " + text);
    }
    return calling;
  }

  static String read(File file) {
    System.out.println("the client runs read_file with path=" + file.path());
    return "# Garden";
  }
}
