import java.net.URI;
import java.util.List;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.model.Message;

/** Sends three orders, and handles them until the queue is empty. mvn -q compile exec:java */
public final class Worker {
  public static void main(String[] arguments) {
    String endpoint = System.getenv().getOrDefault("AWS_ENDPOINT_URL", "http://127.0.0.1:9324");
    try (SqsClient sqs =
        SqsClient.builder()
            .endpointOverride(URI.create(endpoint))
            .region(Region.US_EAST_1)
            .credentialsProvider(
                StaticCredentialsProvider.create(AwsBasicCredentials.create("any", "any")))
            .build()) {
      String url = sqs.createQueue(request -> request.queueName("example-java")).queueUrl();
      for (int order = 1; order <= 3; order++) {
        String body = "{\"order\":" + order + "}";
        sqs.sendMessage(request -> request.queueUrl(url).messageBody(body));
      }
      while (handleMessages(sqs, url) > 0) {}
    }
  }

  /** Handles the messages of one receive, and returns their number. */
  private static int handleMessages(SqsClient sqs, String url) {
    // The call returns as soon as a message arrives, and after two seconds without one. A worker in production waits 20.
    List<Message> messages =
        sqs.receiveMessage(
                request -> request.queueUrl(url).maxNumberOfMessages(10).waitTimeSeconds(2))
            .messages();
    for (Message message : messages) {
      System.out.println("handled " + message.body());
      sqs.deleteMessage(request -> request.queueUrl(url).receiptHandle(message.receiptHandle()));
    }
    return messages.size();
  }
}
