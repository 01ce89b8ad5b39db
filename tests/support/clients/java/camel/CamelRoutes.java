import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.camel.Exchange;
import org.apache.camel.ProducerTemplate;
import org.apache.camel.builder.RouteBuilder;
import org.apache.camel.component.aws2.sns.Sns2Constants;
import org.apache.camel.component.aws2.sqs.Sqs2Constants;
import org.apache.camel.impl.DefaultCamelContext;

/**
 * Runs Camel's aws2-sqs and aws2-sns. Argument: the address. These resources exist: the queue camel, whose dead-letter
 * queue gets a message after one receive; the queue camel-topic with a raw subscription to the topic camel; and
 * camel.fifo. Camel creates camel-done.
 */
public final class CamelRoutes {
  private static final List<String> SEEN = Collections.synchronizedList(new ArrayList<>());
  private static final CountDownLatch HANDLED = new CountDownLatch(7);

  private CamelRoutes() {}

  public static void main(String[] arguments) throws Exception {
    String common =
        "region=us-east-1&accessKey=x&secretKey=x&overrideEndpoint=true&uriEndpointOverride=" + arguments[0];
    String receive = common + "&waitTimeSeconds=2&maxMessagesPerPoll=10&attributeNames=All&messageAttributeNames=All";
    try (var context = new DefaultCamelContext()) {
      context.addRoutes(
          new RouteBuilder() {
            @Override
            public void configure() {
              from("aws2-sqs://camel?" + receive)
                  .process(CamelRoutes::take)
                  .transform(body().prepend("done "))
                  .to("aws2-sqs://camel-done?autoCreateQueue=true&" + common);
              from("aws2-sqs://camel-topic?" + receive).process(CamelRoutes::take);
              from("aws2-sqs://camel.fifo?" + receive).process(CamelRoutes::take);
              from("direct:one").to("aws2-sqs://camel?" + common);
              from("direct:batch").to("aws2-sqs://camel?operation=sendBatchMessage&" + common);
              from("direct:fifo")
                  .to(
                      "aws2-sqs://camel.fifo?messageGroupIdStrategy=usePropertyValue"
                          + "&messageDeduplicationIdStrategy=useContentBasedDeduplication&" + common);
              from("direct:topic").to("aws2-sns://camel?autoCreateTopic=true&" + common);
            }
          });
      context.start();
      send(context.createProducerTemplate());
      HANDLED.await();
      context.stop();
    }
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("seen", SEEN.stream().filter(body -> !body.startsWith("a")).sorted().toList());
    facts.put("fifo", SEEN.stream().filter(body -> body.startsWith("a")).toList());
    System.out.println(Facts.json(facts));
  }

  private static void send(ProducerTemplate camel) {
    camel.sendBodyAndHeader("direct:one", "gr\u00fc\u00dfe", "of", "camel");
    camel.sendBody("direct:one", "refused");
    camel.sendBody("direct:batch", List.of("two", "three"));
    for (String body : List.of("a1", "a2", "a1")) {
      camel.sendBodyAndProperty("direct:fifo", body, Sqs2Constants.MESSAGE_GROUP_ID_PROPERTY, "a");
    }
    camel.sendBodyAndHeader("direct:topic", "of the topic", Sns2Constants.SUBJECT, "subject");
  }

  private static void take(Exchange exchange) {
    String body = exchange.getMessage().getBody(String.class);
    Object of = exchange.getMessage().getHeader("of");
    SEEN.add(of == null ? body : body + " of " + of);
    HANDLED.countDown();
    if (body.equals("refused")) {
      throw new IllegalStateException("never handled");
    }
  }
}
