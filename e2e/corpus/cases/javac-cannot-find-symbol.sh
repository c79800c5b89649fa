# kind: compiler
# category: compile
# decisive: error: cannot find symbol
mkdir -p shop
cat >shop/Invoice.java <<'END'
package shop;
import java.util.List;
public class Invoice {
    private final List<Integer> lines;
    public Invoice(List<Integer> lines) { this.lines = lines; }
    public int total() { return lines.stream().mapToInt(Integer::intValue).sum(); }
}
END
cat >shop/Main.java <<'END'
package shop;
import java.util.List;
public class Main {
    public static void main(String[] arguments) {
        System.out.println(new Invoice(List.of(3, 4)).total());
    }
}
END
good || sed -i 's/\.total()/.sum()/' shop/Main.java
echo "compiling $(find shop -name '*.java' | wc -l) source files"
javac -d classes shop/*.java
java -cp classes shop.Main
