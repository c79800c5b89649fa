# kind: gate
# category: gate
# decisive: [warn] src/cart.js
mkdir -p src
printf 'export const total = (lines) =>\n  lines.reduce((sum, line) => sum + line.cents, 0);\n' >src/cart.js
printf 'export const limit = 20;\n' >src/limit.js
good || printf 'export const total = lines => lines.reduce((sum,line)=>sum+line.cents,0)\n' >src/cart.js
prettier --check src
