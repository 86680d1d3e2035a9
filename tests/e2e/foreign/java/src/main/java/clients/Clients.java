package clients;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.logging.LogManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

/**
 * Reads answers with Java clients, as clients.mjs does with those of JavaScript. A line on stdin asks for one reading,
 * a line on stdout tells it:
 *   {"client", "url", "headers", "model", "tools": [{"name", "description", "parameters"}]}
 *   {"calls": [[name, arguments, id], ...], "finish"} or {"error"}
 * CLIENTS_CA names the file of the authority to trust.
 */
public final class Clients {
  /** What is asked for. */
  record Asked(String client, String url, Map<String, String> headers, String model, List<Offer> tools) {}

  /** A tool on offer. */
  record Offer(String name, String description, JsonNode parameters) {}

  /** What is told of an answer. */
  record Told(List<List<Object>> calls, String finish) {}

  /** Trust in the authorities of a PEM file and in no others. */
  static final class Trust {
    final X509TrustManager manager;
    final SSLContext context;

    Trust(Path pem) throws GeneralSecurityException, IOException {
      KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
      store.load(null, null);
      try (InputStream file = Files.newInputStream(pem)) {
        for (Certificate one : CertificateFactory.getInstance("X.509").generateCertificates(file)) {
          store.setCertificateEntry("authority " + store.size(), one);
        }
      }
      TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      factory.init(store);
      manager = (X509TrustManager) factory.getTrustManagers()[0];
      context = SSLContext.getInstance("TLS");
      context.init(null, new TrustManager[] {manager}, null);
    }
  }

  private static final JsonMapper JSON = JsonMapper.builder()
      .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
      .enable(JsonWriteFeature.ESCAPE_NON_ASCII)
      .build();

  private Clients() {}

  public static void main(String[] args) throws Exception {
    PrintStream told = System.out;
    System.setOut(System.err);
    LogManager.getLogManager().reset();
    Libraries libraries = new Libraries(new Trust(Path.of(System.getenv("CLIENTS_CA"))));
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      told.println(read(libraries, JSON.readValue(line, Asked.class)));
      told.flush();
    }
    System.exit(0); // whatever threads a client has left behind
  }

  private static String read(Libraries libraries, Asked asked) throws JsonProcessingException {
    try {
      return JSON.writeValueAsString(switch (asked.client()) {
        case "openai chat" -> libraries.openaiChat(asked);
        case "openai responses" -> libraries.openaiResponses(asked);
        case "anthropic" -> libraries.anthropic(asked);
        case "google-genai" -> libraries.google(asked);
        case "langchain4j chat" -> libraries.langchain(asked);
        default -> throw new IllegalArgumentException("there is no client " + asked.client());
      });
    } catch (Throwable raised) {
      Throwable failure = raised;
      while (failure.getCause() != null) {
        failure = failure.getCause();
      }
      String error = failure.getClass().getSimpleName() + ": " + failure.getMessage();
      return JSON.writeValueAsString(Map.of("error", error));
    }
  }

  /** A call as it is told; these arguments are JSON, or nothing at all. */
  static List<Object> call(String name, String arguments, String id) {
    try {
      return call(name, JSON.readValue(arguments.isEmpty() ? "{}" : arguments, JsonNode.class), id);
    } catch (JsonProcessingException failure) {
      throw new IllegalArgumentException("these arguments are no JSON: " + arguments);
    }
  }

  /** A call as it is told. */
  static List<Object> call(String name, Object arguments, String id) {
    return Arrays.asList(name, arguments, id);
  }
}
