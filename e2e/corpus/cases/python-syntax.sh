# kind: compiler
# category: compile
# decisive: SyntaxError:
mkdir -p app
printf 'def price(cents):\n    return f"{cents / 100:.2f}"\n' >app/price.py
printf 'from app.price import price\n\ndef main():\n    print(price(350))\n' >app/main.py
good || printf 'from app.price import price\n\ndef main(:\n    print(price(350))\n' >app/main.py
touch app/__init__.py
python3 -m compileall -f app
