# kind: test
# category: test
# decisive: expected: "12.50 EUR"
cat >money.rb <<'END'
def money(cents)
  format("%.2f EUR", cents / 100.0)
end
END
good || sed -i 's/100\.0/100/' money.rb
cat >money_spec.rb <<'END'
require_relative "money"
RSpec.describe "money" do
  it("formats nothing") { expect(money(0)).to eq("0.00 EUR") }
  it("formats cents") { expect(money(1250)).to eq("12.50 EUR") }
end
END
rspec --no-color --format documentation money_spec.rb
