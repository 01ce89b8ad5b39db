import com.amazonaws.services.lambda.runtime.events.SNSEvent;
import com.amazonaws.services.lambda.runtime.events.SQSEvent;
import com.amazonaws.services.lambda.runtime.serialization.events.LambdaEventSerializers;
import java.util.LinkedHashMap;
import java.util.Map;

/** Decodes an event from standard input like Lambda's runtime for Java, and prints a handler's values. */
public final class Events {
  private Events() {}

  public static void main(String[] arguments) {
    System.out.println(Facts.json(arguments[0].equals("sqs") ? queue(read(SQSEvent.class)) : topic(read(SNSEvent.class))));
  }

  private static <T> T read(Class<T> type) {
    return LambdaEventSerializers.serializerFor(type, Events.class.getClassLoader()).fromJson(System.in);
  }

  private static Map<String, Object> queue(SQSEvent event) {
    SQSEvent.SQSMessage message = event.getRecords().get(0);
    SQSEvent.MessageAttribute number = message.getMessageAttributes().get("n");
    SQSEvent.MessageAttribute bytes = message.getMessageAttributes().get("b");
    Map<String, Object> seen = new LinkedHashMap<>();
    seen.put("id", message.getMessageId());
    seen.put("body", message.getBody());
    seen.put("receives", message.getAttributes().get("ApproximateReceiveCount"));
    seen.put("number", number.getStringValue() + " " + number.getDataType());
    seen.put("bytes", bytes.getBinaryValue().remaining());
    seen.put("source", message.getEventSource() + " " + message.getEventSourceArn() + " " + message.getAwsRegion());
    return seen;
  }

  private static Map<String, Object> topic(SNSEvent event) {
    SNSEvent.SNSRecord record = event.getRecords().get(0);
    SNSEvent.SNS message = record.getSNS();
    Map<String, Object> seen = new LinkedHashMap<>();
    seen.put("id", message.getMessageId());
    seen.put("body", message.getMessage());
    seen.put("subject", message.getSubject());
    seen.put("number", message.getMessageAttributes().get("n").getValue());
    seen.put("year", message.getTimestamp().getYear());
    seen.put("urls", message.getSigningCertUrl() != null && message.getUnsubscribeUrl() != null);
    seen.put("source", record.getEventSource() + " " + record.getEventVersion() + " " + record.getEventSubscriptionArn());
    return seen;
  }
}
