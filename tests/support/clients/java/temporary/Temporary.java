import com.amazonaws.services.sqs.AmazonSQSRequester;
import com.amazonaws.services.sqs.AmazonSQSRequesterClientBuilder;
import com.amazonaws.services.sqs.AmazonSQSResponder;
import com.amazonaws.services.sqs.AmazonSQSResponderClientBuilder;
import com.amazonaws.services.sqs.MessageContent;
import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.model.Message;
import software.amazon.awssdk.services.sqs.model.ReceiveMessageRequest;
import software.amazon.awssdk.services.sqs.model.SendMessageRequest;

/** Exchanges requests and responses by virtual temporary queues. Arguments: the address, the request queue's URL. */
public final class Temporary {
  private static final int REQUESTS = 20;

  private Temporary() {}

  public static void main(String[] arguments) throws Exception {
    SqsClient client =
        SqsClient.builder()
            .endpointOverride(URI.create(arguments[0]))
            .region(Region.US_EAST_1)
            .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("x", "x")))
            .build();
    AmazonSQSRequester requester = AmazonSQSRequesterClientBuilder.standard().withAmazonSQS(client).build();
    AmazonSQSResponder responder = AmazonSQSResponderClientBuilder.standard().withAmazonSQS(client).build();
    List<CompletableFuture<Message>> answers = new ArrayList<>();
    for (int n = 0; n < REQUESTS; n++) {
      SendMessageRequest request =
          SendMessageRequest.builder().queueUrl(arguments[1]).messageBody("gr\u00fc\u00dfe " + n).build();
      answers.add(requester.sendMessageAndGetResponseAsync(request, 60, TimeUnit.SECONDS));
    }
    int answered = 0;
    while (answered < REQUESTS) {
      ReceiveMessageRequest receive =
          ReceiveMessageRequest.builder()
              .queueUrl(arguments[1])
              .waitTimeSeconds(20)
              .maxNumberOfMessages(10)
              .messageAttributeNames("All")
              .build();
      for (Message message : client.receiveMessage(receive).messages()) {
        MessageContent content = MessageContent.fromMessage(message);
        responder.sendResponseMessage(content, new MessageContent(message.body().toUpperCase()));
        client.deleteMessage(b -> b.queueUrl(arguments[1]).receiptHandle(message.receiptHandle()));
        answered++;
      }
    }
    int right = 0;
    for (int n = 0; n < REQUESTS; n++) {
      right += answers.get(n).get(60, TimeUnit.SECONDS).body().equals("GR\u00dcSSE " + n) ? 1 : 0;
    }
    requester.shutdown();
    responder.shutdown();
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("right", right);
    System.out.println(Facts.json(facts));
    System.exit(0);
  }
}
