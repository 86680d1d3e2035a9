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
 * Reads responses with Java clients, like clients.mjs with JavaScript clients. A line on stdin is a task, a line on
 * stdout its result:
 *   {"client", "url", "headers", "model", "tools": [{"name", "description", "parameters"}]}
 *   {"calls": [[name, arguments, id], ...], "finish"} or {"error"}
 * CLIENTS_CA is the file of the trusted certificate authority.
 */
public final class Clients {
  /** A response to request and read. */
  record Task(String client, String url, Map<String, String> headers, String model, List<Offer> tools) {}

  /** A tool that the request offers. */
  record Offer(String name, String description, JsonNode parameters) {}

  /** The calls and the finish reason of a response. */
  record Reading(List<List<Object>> calls, String finish) {}

  /** Trust in the certificate authorities of a PEM file only. */
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
    PrintStream output = System.out;
    System.setOut(System.err);
    LogManager.getLogManager().reset();
    Libraries libraries = new Libraries(new Trust(Path.of(System.getenv("CLIENTS_CA"))));
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      output.println(read(libraries, JSON.readValue(line, Task.class)));
      output.flush();
    }
    System.exit(0); // also ends the threads of the clients
  }

  private static String read(Libraries libraries, Task task) throws JsonProcessingException {
    try {
      return JSON.writeValueAsString(switch (task.client()) {
        case "openai chat" -> libraries.openaiChat(task);
        case "openai responses" -> libraries.openaiResponses(task);
        case "anthropic" -> libraries.anthropic(task);
        case "google-genai" -> libraries.google(task);
        case "langchain4j chat" -> libraries.langchain(task);
        default -> throw new IllegalArgumentException("no such client: " + task.client());
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

  /** A call of a result; the arguments are JSON or empty. */
  static List<Object> call(String name, String arguments, String id) {
    try {
      return call(name, JSON.readValue(arguments.isEmpty() ? "{}" : arguments, JsonNode.class), id);
    } catch (JsonProcessingException failure) {
      throw new IllegalArgumentException("invalid JSON: " + arguments);
    }
  }

  /** A call of a result. */
  static List<Object> call(String name, Object arguments, String id) {
    return Arrays.asList(name, arguments, id);
  }
}
