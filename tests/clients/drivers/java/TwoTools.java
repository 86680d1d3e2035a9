import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/** The two tools of every driver, its prompt, and its maximum of turns. */
final class TwoTools {
  /** Declared first, because TOOLS uses it. */
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

  static final int TURNS = 8;
  static final String MODEL = System.getenv().getOrDefault("DRIVER_MODEL", "gpt-4.1-mini");
  static final List<Tool> TOOLS = List.of(
      new Tool("get_weather", "Get the weather of a city.", parsed("""
          {
            "type": "object",
            "properties": {
              "city": {"type": "string"},
              "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}
            },
            "required": ["city", "unit"],
            "additionalProperties": false
          }
          """)),
      new Tool("read_file", "Read a text file.", parsed("""
          {
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
            "additionalProperties": false
          }
          """)));

  /** A tool on offer. */
  record Tool(String name, String description, JsonNode schema) {}

  /** The file that gets a JSON array for each run of a tool: its name and its arguments. Null if there is none. */
  private static final String RAN = System.getenv("DRIVER_RAN");

  private TwoTools() {}

  static String prompt(String[] arguments) {
    return arguments.length > 0 ? arguments[0] : "What is the weather in Oslo, in celsius? Then read notes.txt.";
  }

  /** The result of a call. Throws if the arguments are not JSON. */
  static String run(String name, String arguments) {
    JsonNode given = parsed(arguments);
    return switch (name) {
      case "get_weather" -> getWeather(given.path("city").textValue(), given.path("unit").textValue());
      case "read_file" -> readFile(given.path("path").textValue());
      default -> {
        ran(name, given);
        yield "There is no tool " + name + ".";
      }
    };
  }

  /** Runs an agent and ends the program, also if the client left threads. Exit code 1 if the agent throws. */
  static void end(Runnable agent) {
    int code = 0;
    try {
      agent.run();
    } catch (RuntimeException error) {
      error.printStackTrace();
      code = 1;
    }
    System.exit(code);
  }

  static String getWeather(String city, String unit) {
    ran("get_weather", JSON.createObjectNode().put("city", city).put("unit", unit));
    return city == null || unit == null ? "Wrong arguments." : "Mild in " + city + ", 15 degrees " + unit + ".";
  }

  static String readFile(String path) {
    ran("read_file", JSON.createObjectNode().put("path", path));
    return path == null ? "Wrong arguments." : path + " has one line.";
  }

  private static void ran(String name, JsonNode given) {
    if (RAN == null) {
      return;
    }
    try {
      String line = JSON.createArrayNode().add(name).add(given) + "\n";
      Files.writeString(Path.of(RAN), line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private static JsonNode parsed(String text) {
    try {
      return JSON.readTree(text);
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException(error);
    }
  }
}
