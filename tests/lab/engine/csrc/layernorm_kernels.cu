// Nothing is compiled here. The file exists so that a commit can touch csrc/, which for the real engine means hours of nvcc.
