// Plans the function @main alone: its chains are formed, and the schedules that
// the model decides for them are written on them.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(
      %program: !transform.any_op {transform.readonly}) {
    %function = transform.structured.match ops{["func.func"]}
        attributes {sym_name = "main"} in %program
        : (!transform.any_op) -> !transform.any_op
    %formed = transform.apply_registered_pass "chimera-form-chains"
        with options = {"target" = "zen5"} to %function
        : (!transform.any_op) -> !transform.any_op
    %planned = transform.apply_registered_pass "chimera-schedule"
        with options = {"target" = "zen5", "fuse" = "always"} to %formed
        : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
