# kind: compiler
# category: compile
# decisive: error[E0382]: borrow of moved value: `order`
cat >ship.rs <<'END'
#[derive(Debug)]
struct Order { id: u32, lines: Vec<String> }
fn pack(order: &Order) -> usize { order.lines.len() }
fn ship(order: Order) -> u32 { order.id }
fn main() {
    let order = Order { id: 7, lines: vec!["tea".to_owned()] };
    println!("{} parcels", pack(&order));
    let id = ship(order);
    println!("shipped {id}");
}
END
good || sed -i 's/println!("shipped {id}")/println!("shipped {id}: {order:?}")/' ship.rs
rustc --edition 2021 -o ship ship.rs
./ship
