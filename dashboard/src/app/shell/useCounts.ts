// The numbers beside the entries of the navigation.
import { useQuery } from "@tanstack/react-query";
import { myApprovalsQuery } from "@/api/approval";
import { summaryQuery } from "@/api/summary";
import type { Counts } from "./navigation";

export function useCounts(org: string): Counts | undefined {
  const summary = useQuery(summaryQuery(org)).data;
  const approvals = useQuery(myApprovalsQuery(org)).data?.pagination.total;
  return summary && { ...summary, approvals };
}
