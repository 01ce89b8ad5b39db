import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.model.Message;
import software.amazon.awssdk.services.sqs.model.MessageSystemAttributeName;

/** Handles the messages of a queue until SIGTERM or Ctrl-C. mvn -q compile exec:java -Dexec.args=URL */
public final class Worker {
  private static final int CONCURRENCY = 8, VISIBILITY_SECONDS = 30, MAX_PAUSE_SECONDS = 900;
  private static final int FIRST_PAUSE = Integer.parseInt(System.getenv().getOrDefault("FIRST_PAUSE_SECONDS", "10"));
  private static final ScheduledExecutorService heartbeats = Executors.newScheduledThreadPool(1);
  private static final SqsClient sqs =
      SqsClient.builder()
          .endpointOverride(URI.create(System.getenv().getOrDefault("AWS_ENDPOINT_URL", "http://127.0.0.1:9324")))
          .region(Region.US_EAST_1)
          .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("any", "any")))
          .build();
  private static String url;
  private static volatile boolean stopping;

  private static void handle(Message message) {
    if (message.body().contains("null")) throw new IllegalArgumentException("total is null");
    System.out.println("handled " + message.body());
  }

  /** Makes a message visible after this time. Penstock stores the error, and Amazon SQS ignores the header. */
  private static void changeVisibility(Message message, int seconds, Exception error) {
    sqs.changeMessageVisibility(
        request -> {
          request.queueUrl(url).receiptHandle(message.receiptHandle()).visibilityTimeout(seconds);
          if (error == null) return;
          String text = error.toString().substring(0, Math.min(error.toString().length(), 1024));
          String header = URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
          request.overrideConfiguration(configuration -> configuration.putHeader("X-Penstock-Error", header));
        });
  }

  private static void fail(Message message, Exception error) {
    int attempts = Integer.parseInt(message.attributes().get(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT));
    int pause = Math.min(FIRST_PAUSE << Math.min(attempts - 1, 16), MAX_PAUSE_SECONDS);
    System.err.println("message " + message.messageId() + " returns in " + pause + " s: " + error);
    changeVisibility(message, pause, error);
  }

  private static void handleAndDelete(Message message) {
    var heartbeat = heartbeats.scheduleAtFixedRate(
        () -> changeVisibility(message, VISIBILITY_SECONDS, null),
        VISIBILITY_SECONDS / 3, VISIBILITY_SECONDS / 3, TimeUnit.SECONDS);
    try {
      handle(message);
    } catch (Exception error) {
      heartbeat.cancel(false);
      fail(message, error);
      return;
    }
    heartbeat.cancel(false);
    sqs.deleteMessage(request -> request.queueUrl(url).receiptHandle(message.receiptHandle()));
  }

  /** Handles one message after the other. A FIFO queue keeps a group's order: one of its messages is in flight. */
  private static void run() {
    while (!stopping) {
      try {
        var received = sqs.receiveMessage(
            request -> request.queueUrl(url).visibilityTimeout(VISIBILITY_SECONDS)
                .waitTimeSeconds(5) // A stop waits for this receive.
                .messageSystemAttributeNames(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT));
        for (Message message : received.messages()) {
          if (stopping) changeVisibility(message, 0, null);
          else handleAndDelete(message);
        }
      } catch (Exception error) {
        System.err.println(error); // The message returns after its visibility timeout.
        LockSupport.parkNanos(1_000_000_000);
      }
    }
  }

  public static void main(String[] arguments) {
    url = arguments[0];
    var threads = Executors.newFixedThreadPool(CONCURRENCY);
    CompletableFuture<?>[] runs = new CompletableFuture<?>[CONCURRENCY];
    Arrays.setAll(runs, thread -> CompletableFuture.runAsync(Worker::run, threads));
    // Java runs this hook after SIGTERM, and then ends with exit code 143.
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      stopping = true;
      CompletableFuture.allOf(runs).join();
    }));
  }
}
