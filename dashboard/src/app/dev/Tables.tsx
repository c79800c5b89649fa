// Tables and facts.
import { StateMark } from "@/ui/Badge";
import { workState } from "@/ui/state";
import { Facts, Table } from "@/ui/Table";
import { Section } from "./Section";

const ROWS = [
  { id: "1", status: "succeeded", env: "qa-1", commit: "9f3c2a1", who: "Maya Brandt" },
  { id: "2", status: "failed", env: "qa-3", commit: "c01dbea", who: "storefront-ci" },
];

export function Tables() {
  return (
    <Section title="Tables">
      <Table
        label="Deployments"
        rows={ROWS}
        rowKey={(row) => row.id}
        columns={[
          { name: "State", phone: true, cell: (row) => <StateMark state={workState(row.status)} /> },
          { name: "Environment", phone: true, cell: (row) => row.env },
          { name: "Commit", phone: true, cell: (row) => <code>{row.commit}</code> },
          { name: "By", cell: (row) => row.who },
        ]}
      />
      <Facts
        facts={[
          { name: "Labels", value: "qa, big" },
          { name: "Lease", value: "4 h, 24 h at most" },
        ]}
      />
    </Section>
  );
}
