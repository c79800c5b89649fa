# kind: memory
# category: resource
# decisive: java.lang.OutOfMemoryError: Java heap space
cat >Report.java <<'END'
import java.util.ArrayList;
import java.util.List;
public class Report {
    public static void main(String[] arguments) {
        List<byte[]> pages = new ArrayList<>();
        int count = Integer.parseInt(arguments[0]);
        for (int page = 0; page < count; page++) {
            pages.add(new byte[1 << 20]);
            if (page % 8 == 0) System.out.println("page " + page);
        }
        System.out.println(pages.size() + " pages");
    }
}
END
pages=9
good || pages=900
javac Report.java
java -Xmx48m -XX:+UseSerialGC Report "$pages"
