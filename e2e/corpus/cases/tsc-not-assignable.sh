# kind: compiler
# category: compile
# decisive: error TS2322: Type 'string' is not assignable to type 'number'
cat >tsconfig.json <<'END'
{ "compilerOptions": { "strict": true, "target": "es2020", "module": "commonjs", "outDir": "out", "types": [] }, "include": ["src"] }
END
mkdir -p src
cat >src/cart.ts <<'END'
export interface Line { name: string; cents: number }
export const total = (lines: Line[]): number => lines.reduce((sum, line) => sum + line.cents, 0);
END
cat >src/main.ts <<'END'
import { Line, total } from "./cart";
const lines: Line[] = [{ name: "tea", cents: 350 }];
export const due: number = total(lines);
END
good || sed -i 's/cents: 350/cents: "350"/' src/main.ts
tsc --version
tsc --project . --listEmittedFiles
