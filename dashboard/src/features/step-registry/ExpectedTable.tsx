// Variables that a step expects, and outputs that it writes.
import { step as texts } from "@/texts/en/registryStep";
import { type Column, Table } from "@/ui/Table";
import type { Expected, Output } from "./manifest";

export function ExpectedTable({ label, expected }: { label: string; expected: readonly Expected[] }) {
  const required: Column<Expected> = {
    name: texts.required,
    phone: true,
    tight: true,
    cell: (entry) => (
      <span className="text-13">
        <span className="max-md:hidden">{entry.required ? texts.yes : texts.no}</span>
        <span className="md:hidden">{entry.required ? texts.requiredMark : texts.optionalMark}</span>
      </span>
    ),
  };
  const columns = [nameColumn<Expected>(texts.variable), required, descriptionColumn<Expected>()];
  return <Table label={label} columns={columns} rows={expected} rowKey={({ name }) => name} />;
}

export function OutputTable({ outputs }: { outputs: readonly Output[] }) {
  const columns = [nameColumn<Output>(texts.name), descriptionColumn<Output>()];
  return <Table label={texts.outputs} columns={columns} rows={outputs} rowKey={({ name }) => name} />;
}

function nameColumn<Row extends Output>(name: string): Column<Row> {
  return {
    name,
    phone: true,
    cell: (row) => <code className="block text-13 font-bold wrap-anywhere md:min-w-28">{row.name}</code>,
  };
}

function descriptionColumn<Row extends Output>(): Column<Row> {
  return {
    name: texts.description,
    phone: true,
    line: true,
    cell: ({ description }) => <span className="text-13 wrap-anywhere text-ink2">{description}</span>,
  };
}
