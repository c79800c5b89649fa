# kind: configuration
# category: dependency
# decisive: java.lang.ClassNotFoundException: shop.Main
mkdir -p shop
printf 'package shop;\npublic class Main { public static void main(String[] a) { System.out.println("started"); } }\n' >shop/Main.java
javac -d classes shop/Main.java
classpath=classes
good || classpath=target/classes
echo "starting with the class path $classpath"
java -cp "$classpath" shop.Main
