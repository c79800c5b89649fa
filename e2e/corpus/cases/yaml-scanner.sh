# kind: configuration
# category: configuration
# decisive: mapping values are not allowed here
cat >values.yaml <<'END'
replicas: 2
image:
  name: shop
  tag: "1.4"
END
good || sed -i 's/^  name: shop/  name: shop: latest/' values.yaml
cat >render.py <<'END'
import yaml
with open("values.yaml") as file:
    values = yaml.safe_load(file)
print("rendering", values["image"]["name"], values["replicas"])
END
python3 render.py
