# kind: compiler
# category: compile
# decisive: "shop.Money" seems to be defined in "money.proto"
cat >money.proto <<'END'
syntax = "proto3";
package shop;
message Money { int64 cents = 1; string currency = 2; }
END
cat >order.proto <<'END'
syntax = "proto3";
package shop;
import "money.proto";
message Order { string id = 1; Money total = 2; }
END
good || sed -i '/^import/d' order.proto
mkdir -p generated
protoc --version
protoc --python_out=generated money.proto order.proto
ls generated
