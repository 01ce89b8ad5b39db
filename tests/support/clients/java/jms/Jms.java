import com.amazon.sqs.javamessaging.ProviderConfiguration;
import com.amazon.sqs.javamessaging.SQSConnection;
import com.amazon.sqs.javamessaging.SQSConnectionFactory;
import jakarta.jms.BytesMessage;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import jakarta.jms.TextMessage;
import java.net.URI;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.sqs.SqsClient;

/** Uses JMS with amazon-sqs-java-messaging-lib. Argument: the address. The queues jms and jms.fifo must exist. */
public final class Jms {
  private static final long WAIT_MS = 60_000;

  private Jms() {}

  public static void main(String[] arguments) throws Exception {
    SqsClient client =
        SqsClient.builder()
            .endpointOverride(URI.create(arguments[0]))
            .region(Region.US_EAST_1)
            .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("x", "x")))
            .build();
    SQSConnectionFactory factory = new SQSConnectionFactory(new ProviderConfiguration(), client);
    Map<String, Object> facts = new LinkedHashMap<>();
    SQSConnection connection = factory.createConnection();
    facts.put("exists", connection.getWrappedAmazonSQSClient().queueExists("jms"));
    facts.put("listener", listener(connection));
    connection.close();
    SQSConnection ordered = factory.createConnection();
    facts.put("fifo", fifo(ordered));
    ordered.close();
    System.out.println(Facts.json(facts));
  }

  /** Redelivers a message after a listener's exception, and closes a session that may have fetched a message. */
  private static List<Object> listener(SQSConnection connection) throws JMSException, InterruptedException {
    Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
    MessageProducer producer = session.createProducer(session.createQueue("jms"));
    TextMessage text = session.createTextMessage("gr\u00fc\u00dfe, \u4e16\u754c");
    text.setStringProperty("of", "jms");
    text.setIntProperty("number", 7);
    text.setBooleanProperty("true", true);
    producer.send(text);
    BytesMessage bytes = session.createBytesMessage();
    bytes.writeBytes(new byte[] {0, -128, -1});
    producer.send(bytes);
    List<Object> seen = Collections.synchronizedList(new ArrayList<>());
    CountDownLatch handled = new CountDownLatch(2);
    MessageConsumer consumer = session.createConsumer(session.createQueue("jms"));
    consumer.setMessageListener(
        message -> {
          seen.add(described(message));
          if (message instanceof TextMessage && !redelivered(message)) {
            throw new IllegalStateException("the first attempt fails");
          }
          handled.countDown();
        });
    connection.start();
    handled.await();
    connection.stop();
    // Closing the session returns the message, even if the session has fetched it.
    producer.send(session.createTextMessage("left"));
    return seen.stream().sorted((one, other) -> Facts.json(one).compareTo(Facts.json(other))).toList();
  }

  /** Receives messages in a group's order, and acknowledges them explicitly. */
  private static Map<String, Object> fifo(SQSConnection connection) throws JMSException {
    Session session = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
    MessageProducer producer = session.createProducer(session.createQueue("jms.fifo"));
    for (String body : List.of("a1", "a2", "a1")) {
      TextMessage message = session.createTextMessage(body);
      message.setStringProperty("JMSXGroupID", "a");
      message.setStringProperty("JMS_SQS_DeduplicationId", body);
      producer.send(message);
    }
    MessageConsumer consumer = session.createConsumer(session.createQueue("jms.fifo"));
    connection.start();
    List<String> bodies = new ArrayList<>();
    consumer.receive(WAIT_MS);
    session.recover();
    for (int number = 0; number < 2; number++) {
      TextMessage message = (TextMessage) consumer.receive(WAIT_MS);
      bodies.add(message.getText() + " " + message.getStringProperty("JMSXGroupID"));
      message.acknowledge();
    }
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("received", bodies);
    connection.stop();
    TextMessage last = session.createTextMessage("a3");
    last.setStringProperty("JMSXGroupID", "a");
    last.setStringProperty("JMS_SQS_DeduplicationId", "a3");
    producer.send(last);
    return facts;
  }

  private static boolean redelivered(Message message) {
    try {
      return message.getJMSRedelivered();
    } catch (JMSException error) {
      throw new IllegalStateException(error);
    }
  }

  private static List<Object> described(Message message) {
    try {
      if (message instanceof TextMessage text) {
        return List.of(
            text.getText(),
            text.getStringProperty("of"),
            text.getIntProperty("number"),
            text.getBooleanProperty("true"),
            text.getIntProperty("JMSXDeliveryCount"));
      }
      BytesMessage bytes = (BytesMessage) message;
      byte[] body = new byte[(int) bytes.getBodyLength()];
      bytes.readBytes(body);
      return List.of(java.util.HexFormat.of().formatHex(body));
    } catch (JMSException error) {
      throw new IllegalStateException(error);
    }
  }
}
