import java.net.URI;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.awscore.client.builder.AwsClientBuilder;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.sns.SnsClient;
import software.amazon.awssdk.services.sns.model.PublishBatchRequestEntry;
import software.amazon.awssdk.services.sqs.SqsAsyncClient;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.model.*;

/**
 * Runs the scenario in tests/support/clients/sdk_scenario.py with the SDK for Java 2.
 *
 * <p>Arguments: the address, a name for the queues, and the client: sync, async, or batch for SqsAsyncBatchManager.
 */
public final class Sdk {
  private static final String BODY = "gr\u00fc\u00dfe, \u4e16\u754c <&>";
  private static final int VISIBILITY_SECONDS = 600;
  private static final int BATCH_MANAGER_MESSAGES = 100;

  private final String address;
  private final Sqs sqs;

  private Sdk(String address, Sqs sqs) {
    this.address = address;
    this.sqs = sqs;
  }

  public static void main(String[] arguments) {
    String address = arguments[0];
    try (SqsClient blocking = configured(SqsClient.builder(), address).build();
        SqsAsyncClient asynchronous = configured(SqsAsyncClient.builder(), address).build()) {
      Object facts =
          switch (arguments[2]) {
            case "sync" -> new Sdk(address, new Blocking(blocking)).scenario(arguments[1]);
            case "async" -> new Sdk(address, new Joined(asynchronous)).scenario(arguments[1]);
            default -> batchManager(asynchronous, arguments[1]);
          };
      System.out.println(Facts.json(facts));
    }
  }

  static <B extends AwsClientBuilder<B, C>, C> B configured(B builder, String address) {
    return builder
        .endpointOverride(URI.create(address))
        .region(Region.US_EAST_1)
        .credentialsProvider(
            StaticCredentialsProvider.create(
                AwsBasicCredentials.create(variable("PENSTOCK_KEY"), variable("PENSTOCK_SECRET"))));
  }

  /** Returns an access key or its secret. Without signatures any value works. */
  private static String variable(String name) {
    return System.getenv().getOrDefault(name, "x");
  }

  private Map<String, Object> scenario(String name) {
    Map<String, Object> facts = standard(name);
    facts.put("fifo", fifo(name + ".fifo"));
    facts.put("topic", topic(name));
    return facts;
  }

  private Map<String, Object> standard(String name) {
    Map<String, Object> facts = new LinkedHashMap<>();
    String url = create(name, Map.of());
    CompletableFuture<List<Message>> awaited = CompletableFuture.supplyAsync(() -> receive(url, 1));
    sqs.send(SendMessageRequest.builder().queueUrl(url).messageBody("awaited").build());
    Message first = awaited.join().get(0);
    facts.put("awaited", first.body());
    sqs.delete(DeleteMessageRequest.builder().queueUrl(url).receiptHandle(first.receiptHandle()).build());

    sqs.send(SendMessageRequest.builder().queueUrl(url).messageBody(BODY).messageAttributes(attributes()).build());
    SendMessageBatchResponse sent =
        sqs.sendBatch(
            SendMessageBatchRequest.builder()
                .queueUrl(url)
                .entries(entry("two", 0), entry("three", 0), entry("late", 901))
                .build());
    facts.put("failed", sent.failed().stream().map(f -> List.of(f.id(), f.code(), f.senderFault())).toList());
    Map<String, Message> messages = new TreeMap<>();
    receive(url, 3).forEach(message -> messages.put(message.body(), message));
    facts.put("received", List.copyOf(messages.keySet()));
    Map<String, String> values = new TreeMap<>();
    messages.get(BODY).messageAttributes().forEach((key, value) -> values.put(key, text(value)));
    facts.put("attributes", values);

    sqs.changeVisibility(
        ChangeMessageVisibilityRequest.builder()
            .queueUrl(url)
            .receiptHandle(messages.get("two").receiptHandle())
            .visibilityTimeout(0)
            .build());
    Message again = receive(url, 1).get(0);
    facts.put("again", List.of(again.body(), count(again)));
    sqs.delete(
        DeleteMessageRequest.builder().queueUrl(url).receiptHandle(messages.get(BODY).receiptHandle()).build());
    facts.put("deleted", deleteAll(url, List.of(again, messages.get("three"))));
    sqs.send(
        SendMessageRequest.builder().queueUrl(url).messageBody("left").messageAttributes(attributes()).build());
    facts.put("unknown", refused(url + "-unknown"));
    return facts;
  }

  private Map<String, Object> fifo(String name) {
    String url = create(name, Map.of(QueueAttributeName.FIFO_QUEUE, "true"));
    SendMessageResponse first = sendTo(url, "a", "a1");
    SendMessageResponse second = sendTo(url, "a", "a2");
    sendTo(url, "b", "b1");
    SendMessageResponse duplicate = sendTo(url, "a", "a1");
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("duplicate", duplicate.messageId().equals(first.messageId()));
    facts.put("rising", first.sequenceNumber().compareTo(second.sequenceNumber()) < 0);
    Map<String, List<String>> groups = new TreeMap<>();
    List<Message> messages = receive(url, 3);
    messages.forEach(m -> groups.computeIfAbsent(group(m), any -> new ArrayList<>()).add(m.body()));
    facts.put("groups", groups);
    sendTo(url, "a", "a3");
    facts.put("blocked", sqs.receive(ReceiveMessageRequest.builder().queueUrl(url).build()).messages().size());
    sqs.changeVisibilityBatch(
        ChangeMessageVisibilityBatchRequest.builder()
            .queueUrl(url)
            .entries(
                messages.stream()
                    .filter(message -> group(message).equals("a"))
                    .map(
                        message ->
                            ChangeMessageVisibilityBatchRequestEntry.builder()
                                .id(message.body())
                                .receiptHandle(message.receiptHandle())
                                .visibilityTimeout(0)
                                .build())
                    .toList())
            .build());
    List<Message> again = receive(url, 3);
    facts.put("again", again.stream().map(Message::body).toList());
    List<Message> done = new ArrayList<>(messages.stream().filter(m -> group(m).equals("b")).toList());
    done.addAll(again.stream().filter(message -> !message.body().equals("a3")).toList());
    facts.put("deleted", deleteAll(url, done));
    return facts;
  }

  private List<List<String>> topic(String name) {
    String url = create(name + "-topic", Map.of());
    try (SnsClient sns = configured(SnsClient.builder(), address).build()) {
      String topic = sns.createTopic(request -> request.name(name)).topicArn();
      sns.subscribe(
          request ->
              request
                  .topicArn(topic)
                  .protocol("sqs")
                  .endpoint(sqs.arn(url))
                  .attributes(Map.of("RawMessageDelivery", "true", "FilterPolicy", "{\"kind\":[\"large\"]}")));
      sns.publish(request -> request.topicArn(topic).message("small").messageAttributes(kind("small")));
      PublishBatchRequestEntry large =
          PublishBatchRequestEntry.builder().id("0").message(BODY).messageAttributes(kind("large")).build();
      PublishBatchRequestEntry small =
          PublishBatchRequestEntry.builder().id("1").message("other").messageAttributes(kind("small")).build();
      sns.publishBatch(request -> request.topicArn(topic).publishBatchRequestEntries(List.of(large, small)));
    }
    List<Message> messages = receive(url, 1);
    deleteAll(url, messages);
    return messages.stream()
        .map(message -> List.of(message.body(), message.messageAttributes().get("kind").stringValue()))
        .toList();
  }

  /** Sends, receives and deletes with the batch manager, which merges calls into batches and prefetches messages. */
  private static Map<String, Object> batchManager(SqsAsyncClient client, String name) {
    String url =
        new Joined(client)
            .create(CreateQueueRequest.builder().queueName(name).build())
            .queueUrl();
    Map<String, Object> facts = new LinkedHashMap<>();
    try (var manager = client.batchManager()) {
      List<CompletableFuture<SendMessageResponse>> sent = new ArrayList<>();
      for (int number = 0; number < BATCH_MANAGER_MESSAGES; number++) {
        String body = "message " + number;
        sent.add(manager.sendMessage(request -> request.queueUrl(url).messageBody(body)));
      }
      facts.put("sent", sent.stream().map(future -> future.join().messageId()).distinct().count());
      Map<String, Message> messages = new TreeMap<>();
      while (messages.size() < BATCH_MANAGER_MESSAGES) {
        manager
            .receiveMessage(request -> request.queueUrl(url).maxNumberOfMessages(10))
            .join()
            .messages()
            .forEach(message -> messages.put(message.body(), message));
      }
      facts.put("received", messages.size());
      Message kept = messages.remove("message 0");
      manager
          .changeMessageVisibility(
              request -> request.queueUrl(url).receiptHandle(kept.receiptHandle()).visibilityTimeout(VISIBILITY_SECONDS))
          .join();
      messages.values().stream()
          .map(m -> manager.deleteMessage(request -> request.queueUrl(url).receiptHandle(m.receiptHandle())))
          .toList()
          .forEach(CompletableFuture::join);
    }
    return facts;
  }

  private String create(String name, Map<QueueAttributeName, String> options) {
    Map<QueueAttributeName, String> attributes = new LinkedHashMap<>(options);
    attributes.put(QueueAttributeName.VISIBILITY_TIMEOUT, String.valueOf(VISIBILITY_SECONDS));
    return sqs.create(CreateQueueRequest.builder().queueName(name).attributes(attributes).build()).queueUrl();
  }

  private SendMessageResponse sendTo(String url, String group, String body) {
    return sqs.send(
        SendMessageRequest.builder()
            .queueUrl(url)
            .messageBody(body)
            .messageGroupId(group)
            .messageDeduplicationId(body)
            .build());
  }

  /** Receives this many messages with several calls, because a receive may return only some of them. */
  private List<Message> receive(String url, int count) {
    List<Message> messages = new ArrayList<>();
    for (int call = 0; call < 10 && messages.size() < count; call++) {
      messages.addAll(
          sqs.receive(
                  ReceiveMessageRequest.builder()
                      .queueUrl(url)
                      .maxNumberOfMessages(10)
                      .waitTimeSeconds(20)
                      .messageAttributeNames("All")
                      .messageSystemAttributeNames(MessageSystemAttributeName.ALL)
                      .build())
              .messages());
    }
    return messages;
  }

  private int deleteAll(String url, List<Message> messages) {
    List<DeleteMessageBatchRequestEntry> entries =
        messages.stream()
            .map(
                m ->
                    DeleteMessageBatchRequestEntry.builder()
                        .id(String.valueOf(messages.indexOf(m)))
                        .receiptHandle(m.receiptHandle())
                        .build())
            .toList();
    return sqs.deleteBatch(DeleteMessageBatchRequest.builder().queueUrl(url).entries(entries).build())
        .successful()
        .size();
  }

  private String refused(String url) {
    try {
      sqs.receive(ReceiveMessageRequest.builder().queueUrl(url).build());
      return "nothing";
    } catch (QueueDoesNotExistException error) {
      return "QueueDoesNotExist";
    }
  }

  private static SendMessageBatchRequestEntry entry(String body, int delaySeconds) {
    return SendMessageBatchRequestEntry.builder().id(body).messageBody(body).delaySeconds(delaySeconds).build();
  }

  private static Map<String, MessageAttributeValue> attributes() {
    byte[] bytes = HexFormat.of().parseHex("0080ff");
    return Map.of(
        "Text", MessageAttributeValue.builder().dataType("String").stringValue("t\u00ebxt").build(),
        "Number", MessageAttributeValue.builder().dataType("Number").stringValue("-1.50").build(),
        "Bytes",
            MessageAttributeValue.builder()
                .dataType("Binary")
                .binaryValue(SdkBytes.fromByteBuffer(ByteBuffer.wrap(bytes)))
                .build());
  }

  private static Map<String, software.amazon.awssdk.services.sns.model.MessageAttributeValue> kind(String value) {
    return Map.of(
        "kind",
        software.amazon.awssdk.services.sns.model.MessageAttributeValue.builder()
            .dataType("String")
            .stringValue(value)
            .build());
  }

  private static String text(MessageAttributeValue value) {
    return value.dataType()
        + " "
        + (value.binaryValue() == null
            ? value.stringValue()
            : HexFormat.of().formatHex(value.binaryValue().asByteArray()));
  }

  private static String count(Message message) {
    return message.attributes().get(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT);
  }

  private static String group(Message message) {
    return message.attributes().get(MessageSystemAttributeName.MESSAGE_GROUP_ID);
  }

  /** The scenario's calls. The SDK's two clients differ only in the types of their results. */
  private interface Sqs {
    CreateQueueResponse create(CreateQueueRequest request);

    SendMessageResponse send(SendMessageRequest request);

    SendMessageBatchResponse sendBatch(SendMessageBatchRequest request);

    ReceiveMessageResponse receive(ReceiveMessageRequest request);

    void delete(DeleteMessageRequest request);

    DeleteMessageBatchResponse deleteBatch(DeleteMessageBatchRequest request);

    void changeVisibility(ChangeMessageVisibilityRequest request);

    void changeVisibilityBatch(ChangeMessageVisibilityBatchRequest request);

    GetQueueAttributesResponse attributes(GetQueueAttributesRequest request);

    default String arn(String url) {
      return attributes(
              GetQueueAttributesRequest.builder().queueUrl(url).attributeNames(QueueAttributeName.QUEUE_ARN).build())
          .attributes()
          .get(QueueAttributeName.QUEUE_ARN);
    }
  }

  private record Blocking(SqsClient client) implements Sqs {
    public CreateQueueResponse create(CreateQueueRequest request) {
      return client.createQueue(request);
    }

    public SendMessageResponse send(SendMessageRequest request) {
      return client.sendMessage(request);
    }

    public SendMessageBatchResponse sendBatch(SendMessageBatchRequest request) {
      return client.sendMessageBatch(request);
    }

    public ReceiveMessageResponse receive(ReceiveMessageRequest request) {
      return client.receiveMessage(request);
    }

    public void delete(DeleteMessageRequest request) {
      client.deleteMessage(request);
    }

    public DeleteMessageBatchResponse deleteBatch(DeleteMessageBatchRequest request) {
      return client.deleteMessageBatch(request);
    }

    public void changeVisibility(ChangeMessageVisibilityRequest request) {
      client.changeMessageVisibility(request);
    }

    public void changeVisibilityBatch(ChangeMessageVisibilityBatchRequest request) {
      client.changeMessageVisibilityBatch(request);
    }

    public GetQueueAttributesResponse attributes(GetQueueAttributesRequest request) {
      return client.getQueueAttributes(request);
    }
  }

  private record Joined(SqsAsyncClient client) implements Sqs {
    public CreateQueueResponse create(CreateQueueRequest request) {
      return joined(client::createQueue, request);
    }

    public SendMessageResponse send(SendMessageRequest request) {
      return joined(client::sendMessage, request);
    }

    public SendMessageBatchResponse sendBatch(SendMessageBatchRequest request) {
      return joined(client::sendMessageBatch, request);
    }

    public ReceiveMessageResponse receive(ReceiveMessageRequest request) {
      return joined(client::receiveMessage, request);
    }

    public void delete(DeleteMessageRequest request) {
      joined(client::deleteMessage, request);
    }

    public DeleteMessageBatchResponse deleteBatch(DeleteMessageBatchRequest request) {
      return joined(client::deleteMessageBatch, request);
    }

    public void changeVisibility(ChangeMessageVisibilityRequest request) {
      joined(client::changeMessageVisibility, request);
    }

    public void changeVisibilityBatch(ChangeMessageVisibilityBatchRequest request) {
      joined(client::changeMessageVisibilityBatch, request);
    }

    public GetQueueAttributesResponse attributes(GetQueueAttributesRequest request) {
      return joined(client::getQueueAttributes, request);
    }

    private static <Q, R> R joined(Function<Q, CompletableFuture<R>> call, Q request) {
      try {
        return call.apply(request).join();
      } catch (CompletionException error) {
        throw error.getCause() instanceof SqsException cause ? cause : error;
      }
    }
  }
}
