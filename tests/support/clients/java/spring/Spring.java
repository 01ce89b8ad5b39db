import com.fasterxml.jackson.databind.ObjectMapper;
import io.awspring.cloud.sns.core.SnsNotification;
import io.awspring.cloud.sns.core.SnsTemplate;
import io.awspring.cloud.sqs.annotation.SnsNotificationMessage;
import io.awspring.cloud.sqs.annotation.SnsNotificationSubject;
import io.awspring.cloud.sqs.annotation.SqsListener;
import io.awspring.cloud.sqs.listener.SqsHeaders;
import io.awspring.cloud.sqs.listener.Visibility;
import io.awspring.cloud.sqs.operations.SqsTemplate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.support.MessageBuilder;

/**
 * Runs Spring Cloud AWS: templates that send, receive and publish, and listeners. Arguments: Spring's properties. The
 * topic spring, its queue spring-topic, and the queues spring, spring.fifo and spring-left must exist.
 */
@Configuration
@EnableAutoConfiguration
public class Spring {
  public record Order(String name, int number) {}

  public static void main(String[] arguments) throws Exception {
    try (var context = SpringApplication.run(Spring.class, arguments)) {
      SqsTemplate queues = context.getBean(SqsTemplate.class);
      Listeners listeners = context.getBean(Listeners.class);
      queues.send(
          to -> to.queue("spring").payload(new Order("gr\u00fc\u00dfe, \u4e16\u754c", 3)).header("of", "spring").delaySeconds(1));
      queues.sendMany(
          "spring",
          List.of(
              MessageBuilder.withPayload(new Order("one", 1)).setHeader("of", "batch").build(),
              MessageBuilder.withPayload(new Order("two", 2)).setHeader("of", "batch").build()));
      for (String body : List.of("a1", "a2", "a1")) {
        queues.send(to -> to.queue("spring.fifo").payload(body).messageGroupId("a").messageDeduplicationId(body));
      }
      context
          .getBean(SnsTemplate.class)
          .sendNotification("spring", SnsNotification.builder(new Order("topic", 4)).subject("of the topic").build());
      listeners.handled.await();
      for (String body : List.of("received", "left")) {
        queues.send(to -> to.queue("spring-left").payload(body));
      }
      Map<String, Object> facts = new LinkedHashMap<>();
      facts.put("template", queues.receive("spring-left", String.class).orElseThrow().getPayload());
      facts.put("seen", listeners.seen.stream().sorted((one, other) -> Facts.json(one).compareTo(Facts.json(other))).toList());
      facts.put("fifo", List.copyOf(listeners.ordered));
      System.out.println(Facts.json(facts));
    }
  }

  /** Lets listeners decode a topic's envelopes. Spring for the web provides this bean by default. */
  @Bean
  ObjectMapper json() {
    return new ObjectMapper();
  }

  @Bean
  Listeners listeners() {
    return new Listeners();
  }

  /** Deletes a message unless its handler throws an exception. */
  public static class Listeners {
    final List<Object> seen = Collections.synchronizedList(new ArrayList<>());
    final List<Object> ordered = Collections.synchronizedList(new ArrayList<>());
    final CountDownLatch handled = new CountDownLatch(6);

    @SqsListener("spring")
    void take(
        Order order,
        @Header("of") String of,
        @Header(SqsHeaders.MessageSystemAttributes.SQS_APPROXIMATE_RECEIVE_COUNT) String attempt,
        Visibility visibility) {
      seen.add(List.of(order.name(), order.number(), of, attempt));
      if (order.number() == 3 && attempt.equals("1")) {
        visibility.changeTo(0);
        throw new IllegalStateException("the first attempt fails");
      }
      handled.countDown();
    }

    @SqsListener("spring.fifo")
    void takeOrdered(String body, @Header(SqsHeaders.MessageSystemAttributes.SQS_MESSAGE_GROUP_ID_HEADER) String group) {
      ordered.add(List.of(body, group));
      handled.countDown();
    }

    @SqsListener("spring-topic")
    void takeNotification(@SnsNotificationMessage Order order, @SnsNotificationSubject String subject) {
      seen.add(List.of(order.name(), order.number(), subject));
      handled.countDown();
    }
  }
}
