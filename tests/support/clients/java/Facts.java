import java.util.Collection;
import java.util.Map;
import java.util.stream.Collectors;

/** Writes a program's results as JSON: maps, lists, texts, numbers and booleans. */
final class Facts {
  private Facts() {}

  static String json(Object value) {
    if (value instanceof Map<?, ?> map) {
      return map.entrySet().stream()
          .map(entry -> text(entry.getKey()) + ":" + json(entry.getValue()))
          .collect(Collectors.joining(",", "{", "}"));
    }
    if (value instanceof Collection<?> collection) {
      return collection.stream().map(Facts::json).collect(Collectors.joining(",", "[", "]"));
    }
    return value == null || value instanceof Number || value instanceof Boolean ? String.valueOf(value) : text(value);
  }

  /** Escapes all characters outside ASCII, so that the encoding of standard output does not matter. */
  private static String text(Object value) {
    StringBuilder text = new StringBuilder("\"");
    for (char character : value.toString().toCharArray()) {
      boolean plain = character >= ' ' && character < 127 && character != '"' && character != '\\';
      text.append(plain ? String.valueOf(character) : String.format("\\u%04x", (int) character));
    }
    return text.append('"').toString();
  }
}
