package clients;

import clients.Clients.Task;
import clients.Clients.Offer;
import clients.Clients.Reading;
import clients.Clients.Trust;
import com.anthropic.client.AnthropicClient;
import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.anthropic.helpers.MessageAccumulator;
import com.anthropic.models.messages.Message;
import com.anthropic.models.messages.MessageCreateParams;
import com.anthropic.models.messages.RawMessageStreamEvent;
import com.anthropic.models.messages.StopReason;
import com.fasterxml.jackson.databind.JsonNode;
import com.google.genai.Client;
import com.google.genai.ResponseStream;
import com.google.genai.types.Candidate;
import com.google.genai.types.ClientOptions;
import com.google.genai.types.FunctionCall;
import com.google.genai.types.FunctionDeclaration;
import com.google.genai.types.GenerateContentConfig;
import com.google.genai.types.GenerateContentResponse;
import com.google.genai.types.HttpOptions;
import com.google.genai.types.HttpRetryOptions;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.http.StreamResponse;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.helpers.ResponseAccumulator;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionMessageFunctionToolCall;
import com.openai.models.chat.completions.ChatCompletionMessageToolCall;
import com.openai.models.responses.FunctionTool;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseStatus;
import com.openai.models.responses.ResponseStreamEvent;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.http.client.jdk.JdkHttpClient;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.request.json.JsonRawSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import dev.langchain4j.model.output.FinishReason;
import java.net.Proxy;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import okhttp3.OkHttpClient;

/** Reads a response with each library, with its own accumulator if it has one. */
final class Libraries {
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final String QUESTION = "Go on.";

  private final Trust trust;

  Libraries(Trust trust) {
    this.trust = trust;
  }

  Reading openaiChat(Task task) {
    ChatCompletionCreateParams.Builder request =
        ChatCompletionCreateParams.builder().model(task.model()).addUserMessage(QUESTION);
    for (Offer one : task.tools()) {
      request.addFunctionTool(FunctionDefinition.builder()
          .name(one.name())
          .description(one.description())
          .parameters(schema(one, FunctionParameters.class))
          .build());
    }
    ChatCompletionAccumulator all = ChatCompletionAccumulator.create();
    OpenAIClient client = openai(task);
    try (StreamResponse<ChatCompletionChunk> chunks = client.chat().completions().createStreaming(request.build())) {
      chunks.stream().forEach(all::accumulate);
    } finally {
      client.close();
    }
    ChatCompletion.Choice choice = all.chatCompletion().choices().get(0);
    List<List<Object>> calls = new ArrayList<>();
    for (ChatCompletionMessageToolCall one : choice.message().toolCalls().orElse(List.of())) {
      ChatCompletionMessageFunctionToolCall call = one.asFunction();
      calls.add(Clients.call(call.function().name(), call.function().arguments(), call.id()));
    }
    return new Reading(calls, choice.finishReason().asString());
  }

  Reading openaiResponses(Task task) {
    ResponseCreateParams.Builder request = ResponseCreateParams.builder().model(task.model()).input(QUESTION);
    for (Offer one : task.tools()) {
      request.addTool(FunctionTool.builder()
          .name(one.name())
          .description(one.description())
          .parameters(schema(one, FunctionTool.Parameters.class))
          .strict(false)
          .build());
    }
    ResponseAccumulator all = ResponseAccumulator.create();
    OpenAIClient client = openai(task);
    try (StreamResponse<ResponseStreamEvent> events = client.responses().createStreaming(request.build())) {
      events.stream().forEach(all::accumulate);
    } finally {
      client.close();
    }
    Response response = all.response();
    List<List<Object>> calls = response.output().stream()
        .flatMap((item) -> item.functionCall().stream())
        .map((call) -> Clients.call(call.name(), call.arguments(), call.callId()))
        .toList();
    return new Reading(calls, response.status().map(ResponseStatus::asString).orElse(null));
  }

  private OpenAIClient openai(Task task) {
    OpenAIOkHttpClient.Builder client = OpenAIOkHttpClient.builder()
        .apiKey("none")
        .baseUrl(task.url() + "/v1")
        .maxRetries(0)
        .timeout(PATIENCE)
        .proxy(Proxy.NO_PROXY)
        .sslSocketFactory(trust.context.getSocketFactory())
        .trustManager(trust.manager);
    task.headers().forEach(client::replaceHeaders);
    return client.build();
  }

  private static <T> T schema(Offer offer, Class<T> type) {
    return com.openai.core.JsonValue.fromJsonNode(offer.parameters()).convert(type);
  }

  Reading anthropic(Task task) {
    MessageCreateParams.Builder request =
        MessageCreateParams.builder().model(task.model()).maxTokens(100).addUserMessage(QUESTION);
    for (Offer one : task.tools()) {
      com.anthropic.core.JsonValue schema = com.anthropic.core.JsonValue.fromJsonNode(one.parameters());
      request.addTool(com.anthropic.models.messages.Tool.builder()
          .name(one.name())
          .description(one.description())
          .inputSchema(schema.convert(com.anthropic.models.messages.Tool.InputSchema.class))
          .build());
    }
    AnthropicOkHttpClient.Builder builder = AnthropicOkHttpClient.builder()
        .apiKey("none")
        .baseUrl(task.url())
        .maxRetries(0)
        .timeout(PATIENCE)
        .proxy(Proxy.NO_PROXY)
        .sslSocketFactory(trust.context.getSocketFactory())
        .trustManager(trust.manager);
    task.headers().forEach(builder::replaceHeaders);
    MessageAccumulator all = MessageAccumulator.create();
    AnthropicClient client = builder.build();
    try (com.anthropic.core.http.StreamResponse<RawMessageStreamEvent> events =
        client.messages().createStreaming(request.build())) {
      events.stream().forEach(all::accumulate);
    } finally {
      client.close();
    }
    Message message = all.message();
    List<List<Object>> calls = message.content().stream()
        .flatMap((block) -> block.toolUse().stream())
        .map((call) -> Clients.call(call.name(), call._input(), call.id()))
        .toList();
    return new Reading(calls, message.stopReason().map(StopReason::asString).orElse(null));
  }

  Reading google(Task task) {
    List<FunctionDeclaration> offers = task.tools().stream()
        .map((one) -> FunctionDeclaration.builder()
            .name(one.name())
            .description(one.description())
            .parametersJsonSchema(one.parameters())
            .build())
        .toList();
    GenerateContentConfig config = GenerateContentConfig.builder()
        .tools(com.google.genai.types.Tool.builder().functionDeclarations(offers))
        .build();
    OkHttpClient http = new OkHttpClient.Builder()
        .callTimeout(PATIENCE)
        .readTimeout(PATIENCE)
        .proxy(Proxy.NO_PROXY)
        .sslSocketFactory(trust.context.getSocketFactory(), trust.manager)
        .build();
    Client.Builder builder = Client.builder()
        .apiKey("none")
        .vertexAI(false)
        .clientOptions(ClientOptions.builder().customHttpClient(http).build())
        .httpOptions(HttpOptions.builder()
            .baseUrl(task.url())
            .headers(task.headers())
            .retryOptions(HttpRetryOptions.builder().attempts(1))
            .build());
    List<List<Object>> calls = new ArrayList<>();
    String finish = null;
    try (Client client = builder.build();
        ResponseStream<GenerateContentResponse> chunks =
            client.models.generateContentStream(task.model(), QUESTION, config)) {
      for (GenerateContentResponse chunk : chunks) {
        List<FunctionCall> received = chunk.functionCalls();
        for (FunctionCall one : received == null ? List.<FunctionCall>of() : received) {
          calls.add(Clients.call(one.name().orElse(null), one.args().orElse(Map.of()), one.id().orElse(null)));
        }
        for (Candidate one : chunk.candidates().orElse(List.of())) {
          finish = one.finishReason().map(Object::toString).orElse(finish);
        }
      }
    }
    return new Reading(calls, finish);
  }

  Reading langchain(Task task) {
    List<ToolSpecification> offers = task.tools().stream().map(Libraries::specification).toList();
    OpenAiStreamingChatModel model = OpenAiStreamingChatModel.builder()
        .apiKey("none")
        .baseUrl(task.url() + "/v1")
        .modelName(task.model())
        .timeout(PATIENCE)
        .customHeaders(task.headers())
        .httpClientBuilder(JdkHttpClient.builder().httpClientBuilder(
            HttpClient.newBuilder().sslContext(trust.context).proxy(HttpClient.Builder.NO_PROXY)))
        .build();
    ChatRequest request =
        ChatRequest.builder().messages(UserMessage.from(QUESTION)).toolSpecifications(offers).build();
    CompletableFuture<ChatResponse> received = new CompletableFuture<>();
    model.chat(request, new StreamingChatResponseHandler() {
      @Override
      public void onPartialResponse(String text) {}

      @Override
      public void onCompleteResponse(ChatResponse response) {
        received.complete(response);
      }

      @Override
      public void onError(Throwable error) {
        received.completeExceptionally(error);
      }
    });
    // The library's timeout ends at the headers of the response.
    ChatResponse response = received.orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS).join();
    List<List<Object>> calls = response.aiMessage().toolExecutionRequests().stream()
        .map((call) -> Clients.call(call.name(), call.arguments(), call.id()))
        .toList();
    return new Reading(calls, Optional.ofNullable(response.finishReason()).map(FinishReason::name).orElse(null));
  }

  /** A tool with the properties of its schema, and the required names: langchain4j supports no more. */
  private static ToolSpecification specification(Offer offer) {
    JsonObjectSchema.Builder schema = JsonObjectSchema.builder();
    for (Map.Entry<String, JsonNode> one : offer.parameters().path("properties").properties()) {
      schema.addProperty(one.getKey(), JsonRawSchema.from(one.getValue().toString()));
    }
    List<String> required = new ArrayList<>();
    offer.parameters().path("required").forEach((one) -> required.add(one.asText()));
    return ToolSpecification.builder()
        .name(offer.name())
        .description(offer.description())
        .parameters(schema.required(required).build())
        .build();
  }
}
