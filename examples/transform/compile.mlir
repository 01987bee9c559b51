// All of Chimera as one step of a transform script: the module goes down to what
// the target runs.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(
      %program: !transform.any_op {transform.consumed}) {
    %compiled = transform.apply_registered_pass "chimera-pipeline"
        with options = {"target" = "zen5"} to %program
        : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
