"""What executes a recipe: data, plan, loop, bundle."""
